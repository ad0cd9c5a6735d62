"""A review on a full screen: terminal, keyboard, colours, layout and keys."""
