"""Embedding spaces: new vectors of one translated into another, and looked up there."""

from unaligned.spaces.lookup import Neighbors
from unaligned.spaces.translator import SpaceTranslator

__all__ = ["Neighbors", "SpaceTranslator"]
