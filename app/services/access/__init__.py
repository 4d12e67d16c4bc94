"""Who may: credentials, what revokes them, and agents whose memory is switched off."""
