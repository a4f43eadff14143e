# Two images from one file:
#   docker build -t krmfn .                    the function, for kustomize and kpt: the last stage, the default
#   docker build -t krmfn-cmp --target cmp --build-arg KUSTOMIZE_IMAGE=... .
#                                              kustomize and the function, for Argo CD's plugin sidecar
# With wheels in wheels/ (scripts/wheelhouse.sh) the build needs no network, without them it takes the same
# files, checked by the same hashes, from the package index. "docker" may be podman >= 4, Docker with BuildKit, or
# Docker's legacy builder: nothing is used here that one of them lacks (mounts, heredocs, COPY --chmod).

# A release names the base by digest, too: --build-arg PYTHON_IMAGE=python:3.13-slim@sha256:...
ARG PYTHON_IMAGE=python:3.13-slim
# An image with /app/kustomize, as the kustomize project publishes it; only the stage cmp needs one.
ARG KUSTOMIZE_IMAGE=no-kustomize

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
# The pattern may match nothing; a plain "wheels" would have to exist.
COPY requirements.lock requirements-build.lock wheel[s] /wheels/
RUN if ls /wheels/*.whl > /dev/null 2>&1; then export PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels; fi \
 && python -m venv --without-pip /build \
 && python -m venv --without-pip /opt/krmfn \
 && python -m pip --python /build/bin/python install --require-hashes -r /wheels/requirements-build.lock \
 && python -m pip --python /opt/krmfn/bin/python install --no-compile --require-hashes -r /wheels/requirements.lock
COPY pyproject.toml LICENSE *.md /src/
COPY krmfn /src/krmfn/
COPY scripts/warmup.yaml /src/
# Byte code that never looks at the time of its source stays valid when the builder sets all times to one value.
RUN python -m pip --python /build/bin/python wheel --no-index --no-deps --no-build-isolation -w /dist /src \
 && python -m pip --python /opt/krmfn/bin/python install --no-compile --no-index --no-deps /dist/*.whl \
 && python -m pip --python /opt/krmfn/bin/python check \
 && /opt/krmfn/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/krmfn/lib \
 && mkdir -p /opt/krmfn/share/krmfn \
 && cp /src/warmup.yaml /opt/krmfn/share/krmfn/ \
 && chmod 644 /opt/krmfn/share/krmfn/warmup.yaml

FROM ${PYTHON_IMAGE} AS runtime
COPY --from=build /opt/krmfn /opt/krmfn
# The base has no byte code of the standard library and no user of the image may write any, so that every call would
# compile it anew. One run as root leaves it for exactly the modules that the function imports, and shows that it works.
RUN /opt/krmfn/bin/python -I -m krmfn < /opt/krmfn/share/krmfn/warmup.yaml > /dev/null
WORKDIR /
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="krmfn" \
      org.opencontainers.image.description="A KRM function that gives every container of a multi-node LLM engine its leader's address and its rank" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# Podman and BuildKit come here only for a cmp image that was given no kustomize, and stop. Docker's legacy builder
# builds every stage, whatever was asked for; it alone builds in containers of the engine, which have /.dockerenv.
FROM runtime AS no-kustomize
RUN test -e /.dockerenv || { echo "cmp needs --build-arg KUSTOMIZE_IMAGE=IMAGE, one with /app/kustomize" >&2; exit 1; } \
 && mkdir /app \
 && printf '#!/bin/sh\necho "this image was built without KUSTOMIZE_IMAGE" >&2\nexit 1\n' > /app/kustomize \
 && chmod 755 /app/kustomize

FROM ${KUSTOMIZE_IMAGE} AS kustomize

FROM runtime AS cmp
COPY --from=kustomize /app/kustomize /usr/local/bin/kustomize
RUN ln -s /opt/krmfn/bin/krmfn /usr/local/bin/krmfn
# The user and the program (in a volume of Argo CD's) that Argo CD's plugin sidecars have.
USER 999:999
ENTRYPOINT ["/var/run/argocd/argocd-cmp-server"]
LABEL org.opencontainers.image.title="krmfn-cmp" \
      org.opencontainers.image.description="kustomize with the krmfn function, for a plugin sidecar of Argo CD"

FROM runtime AS function
# A number, so that runAsNonRoot can be checked. kustomize and kpt put nobody in its place; any user will do.
USER 65532:65532
# -I: nothing from the environment or the working folder is imported. -B: no byte code is written.
ENTRYPOINT ["/opt/krmfn/bin/python", "-I", "-B", "-m", "krmfn"]
