"""Legacy model files in: GraphDef, MetaGraph with checkpoint, SavedModel."""

__all__: list[str] = []
