"""Embedding spaces: translate new vectors of one space, and look them up in another."""

from unaligned.spaces.lookup import Neighbors
from unaligned.spaces.translator import SpaceTranslator

__all__ = ["Neighbors", "SpaceTranslator"]
