"""The settings of a forest, the controls that change them, and the forest that a public rule recommends."""
