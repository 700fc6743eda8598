"""Tests of the inspector's pure half."""
