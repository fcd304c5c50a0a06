// The state of the page as the fragment of its address, so that a link shows what its sender saw.

/** Sorted numbers as "3-8,12". */
export function packNumbers(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length; ) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) end += 1;
    parts.push(end > i ? `${numbers[i]}-${numbers[end]}` : `${numbers[i]}`);
    i = end + 1;
  }
  return parts.join(",");
}

/** The numbers below `limit` in a text of `packNumbers`; anything else in it is ignored. */
export function unpackNumbers(text, limit) {
  const found = [];
  for (const part of text.split(",")) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (!match) continue;
    const last = Math.min(Number(match[2] ?? match[1]), limit - 1);
    for (let i = Number(match[1]); i <= last; i++) found.push(i);
  }
  return found;
}

/** A plain object of texts as "a=1&b=2", without those that are empty. */
export function writeAddress(state) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value) query.set(key, value);
  return query.toString();
}

/** The object that `writeAddress` wrote; whatever the text is, an object of texts. */
export function readAddress(fragment) {
  return Object.fromEntries(new URLSearchParams(fragment.replace(/^#/, "")));
}
