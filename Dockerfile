# Named by its tag, so that it gets its fixes. For builds that can be repeated, .ci/pin-base-image writes its digest here.
ARG NODE_IMAGE=node:26-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has the right Node: the one that npm could carry is left out.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM ${NODE_IMAGE}
# It reaps the processes that read pages and run Python, and passes signals on.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY src src
COPY config config
COPY docs docs
# All else may be read-only: docker run --read-only --tmpfs /tmp
RUN mkdir data && chown node:node data
USER node
VOLUME /app/data
EXPOSE 8080
# With server.admin_port this port answers /healthz with 404, which shows as well that the process lives.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.status < 500 ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
# Set GATEWAY_API_KEY: the well-known default key is refused on a public address.
CMD ["node", "src/research-gateway.js", "serve"]
