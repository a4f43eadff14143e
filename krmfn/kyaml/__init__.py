"""An SDK for KRM functions over PyYAML in which the text is the document. See README.md beside this file."""
