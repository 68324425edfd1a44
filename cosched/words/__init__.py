"""What people and programs are told: errors, reasons, quantities with units, values for JSON."""
