"""Object stores by the library obstore: Cloudflare R2 over its S3 API, and a folder."""
