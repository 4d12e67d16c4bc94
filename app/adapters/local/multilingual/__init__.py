"""The multilingual model: reads the file of the package that carries it, and writes the files of a local model."""
