"""What files and flags say, checked: types of settings, fields that several models share, mistakes said in one line."""
