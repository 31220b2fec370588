# For builds that can be repeated, .ci/pin-base-image writes the digest of the base image here.
ARG NODE_IMAGE=node:26-slim
FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
# The image has the right Node: the one that npm could carry is left out.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional && npm cache clean --force
COPY src src
COPY config config
COPY docs docs
RUN mkdir data && chown node:node data
USER node
VOLUME /app/data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Set GATEWAY_API_KEY: the well-known default key is refused on a public address.
CMD ["node", "src/research-gateway.js", "serve"]
