"""What each scheduler brings beside its rules: one module, one value, one entry point each (CONTRIBUTING.md)."""
