"""What users and peers may ask of a domain over gRPC, and how every call is checked, counted and answered."""
