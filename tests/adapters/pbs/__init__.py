"""The PBS adapter without a server: recorded output of OpenPBS 23.06.06, hand-made lines."""
