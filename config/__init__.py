"""Settings: the commented reference file, the structs and the loader."""
