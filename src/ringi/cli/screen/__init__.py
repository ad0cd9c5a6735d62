"""A review on a full screen: terminal and keyboard, cells and colours, what is shown and what the keys do."""
