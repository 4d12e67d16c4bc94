"""The ``ObjectStore`` port on Cloudflare R2, by its S3 API (https://developers.cloudflare.com/r2/api/s3/api/)."""

from datetime import timedelta
from typing import TYPE_CHECKING

from app.adapters.breaker import Breakers
from app.adapters.objects.failures import of_r2
from app.adapters.objects.store import ObstoreObjects
from app.observability.metrics import Metrics
from app.ports.object_store import PUT_SECONDS

if TYPE_CHECKING:
    from obstore.store import S3Credential, S3Store

_CONNECT_SECONDS = 3.0


class R2Objects(ObstoreObjects):
    """Objects of one bucket."""

    backend = "r2"

    def __init__(
        self,
        *,
        endpoint: str,
        bucket: str,
        access_key_id: str,
        secret_access_key: str,
        metrics: Metrics,
        patience: float = 1.0,
        breakers: Breakers | None = None,
    ) -> None:
        """Open no connection yet."""
        super().__init__(metrics, of_r2, patience=patience, breaker=(breakers or Breakers(metrics)).of("r2"))
        self._endpoint = endpoint.rstrip("/")
        self._bucket = bucket
        self._key = access_key_id
        self._secret = secret_access_key

    def _open(self) -> "S3Store":
        """Make the client; the environment's settings for Amazon's own S3 must not reach it."""
        from obstore.store import S3Store  # noqa: PLC0415 - loading it takes 30 ms

        return S3Store(
            self._bucket,
            endpoint=self._endpoint,
            region="auto",
            virtual_hosted_style_request=False,
            skip_signature=False,
            unsigned_payload=False,
            request_payer=False,
            s3_express=False,
            credential_provider=self._credential,
            client_options={
                "allow_http": self._endpoint.startswith("http://"),
                "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
                "timeout": timedelta(seconds=PUT_SECONDS),
                "user_agent": "memory-gateway",
            },
            retry_config={"max_retries": 0},
        )

    def _credential(self) -> "S3Credential":
        return {"access_key_id": self._key, "secret_access_key": self._secret, "expires_at": None}

    async def _put(self, key: str, data: bytes, media_type: str) -> None:
        attributes = {"Content-Type": media_type}
        await self._library.put_async(self._store, key, data, attributes=attributes, use_multipart=False)
