"""Sockets of this process on 127.0.0.1 only: TensorFlow's servers ask for all interfaces and cannot be told otherwise.

gRPC is given `0.0.0.0:port` whatever host the cluster names. The shared objects of TensorFlow find `bind` through a
table of addresses that the dynamic linker filled in; here the entry is replaced by a function that turns "any address"
into 127.0.0.1 and then binds. For Linux, whose executables are ELF files. Imports nothing of symgrad, so that a server
starts without it.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Iterator

_READ, _WRITE = 1, 2
_PT_DYNAMIC = 2
_DT_PLTRELSZ, _DT_STRTAB, _DT_SYMTAB, _DT_JMPREL = 2, 5, 6, 23
_ANY = {
    socket.AF_INET: (4, bytes(4), bytes([127, 0, 0, 1])),
    socket.AF_INET6: (8, bytes(16), bytes(10) + b"\xff\xff" + bytes([127, 0, 0, 1])),
}  # family: where the address stands in the sockaddr, any address, and 127.0.0.1
_LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")

_libc = ctypes.CDLL(None, use_errno=True)
_Bind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, use_errno=True)


@_Bind
def _bind(handle: int, address: int, length: int) -> int:
    given = bytearray(ctypes.string_at(address, length))
    family = int.from_bytes(given[:2], "little" if struct.pack("=H", 1)[0] else "big")
    if family in _ANY:
        start, any_address, loopback = _ANY[socket.AddressFamily(family)]
        if given[start : start + len(any_address)] == any_address:
            given[start : start + len(any_address)] = loopback
            # Whoever made the cluster holds the port with a socket that does not listen.
            _libc.setsockopt(handle, socket.SOL_SOCKET, socket.SO_REUSEPORT, ctypes.byref(ctypes.c_int(1)), 4)
    return _libc.bind(handle, (ctypes.c_char * length).from_buffer(given), length)


def bind_to_loopback(library: str) -> int:
    """Let the loaded shared objects with `library` in their path bind to 127.0.0.1 where they ask for any address.

    Returns:
      How many calls of `bind` were redirected.
    """
    ours = ctypes.cast(_bind, ctypes.c_void_p).value
    entries = [entry for base in _loaded(library) for entry in _entries(base, b"bind")]
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in entries:  # each is aligned, so that it lies in one page
        if _libc.mprotect(ctypes.c_void_p(entry // page * page), ctypes.c_size_t(page), _READ | _WRITE):
            raise OSError(ctypes.get_errno(), "the linker's table cannot be written")
        ctypes.c_void_p.from_address(entry).value = ours
    return len(entries)


def listening_elsewhere() -> list[str]:
    """The local addresses, as /proc/net/tcp writes them, of this process' listening sockets that are no loopback."""
    links = []
    for handle in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:  # the handle of the listing itself
            continue
    found = []
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        with open(table, encoding="ascii") as lines:
            rows = [line.split() for line in lines][1:]
        found += [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in links]
    return [address for address in found if address.split(":")[0] not in _LOOPBACK]


def _loaded(library: str) -> Iterator[int]:
    """Where shared objects with `library` in their path begin in memory."""
    seen = set()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            path = fields[5].strip() if len(fields) == 6 else ""
            if library in os.path.basename(path) and ".so" in path and int(fields[2], 16) == 0 and path not in seen:
                seen.add(path)
                yield int(fields[0].split("-")[0], 16)


def _entries(base: int, symbol: bytes) -> Iterator[int]:
    """The addresses of the entries for `symbol` in the table of a 64-bit ELF object that begins at `base`."""
    header = ctypes.string_at(base, 64)
    if header[:5] != b"\x7fELF\x02":
        return
    (table,), (count,) = struct.unpack_from("=Q", header, 32), struct.unpack_from("=H", header, 56)
    segments = [struct.unpack("=IIQQQQQQ", ctypes.string_at(base + table + 56 * i, 56)) for i in range(count)]
    dynamic = next(s for s in segments if s[0] == _PT_DYNAMIC)
    found = dict(struct.iter_unpack("=QQ", ctypes.string_at(base + dynamic[3], dynamic[6] // 16 * 16)))
    # glibc writes addresses into the dynamic section where the file has offsets; musl does not.
    at = {tag: value if value >= base else base + value for tag, value in found.items()}
    relocations = ctypes.string_at(at[_DT_JMPREL], found[_DT_PLTRELSZ])
    for offset, info, _ in struct.iter_unpack("=QQq", relocations):
        (name,) = struct.unpack("=I", ctypes.string_at(at[_DT_SYMTAB] + 24 * (info >> 32), 4))
        if ctypes.string_at(at[_DT_STRTAB] + name) == symbol:
            yield base + offset
