# The image of the sidecar: non-root, and nothing is written outside the volume, so that the root file
# system can be read-only.
#
# No container engine has built this file yet. test/unit/dockerfile.test.ts parses it, and
# test/process/docker-image.test.ts assembles the image's files from a real build and runs what is in it.

FROM node:26-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# No install scripts: the only one brings a Node for older machines, and this image is one.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
RUN npm run build

FROM node:26-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-slim
WORKDIR /app
COPY --from=dependencies /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY package.json LICENSE ./

# "kubectl exec POD -- fencegate status". What the compiler writes is not executable.
RUN chmod 0755 dist/main.js && ln -s /app/dist/main.js /usr/local/bin/fencegate

# A new volume takes over the owner and mode of the directory that it is mounted on.
RUN install -d -o 1000 -g 1000 -m 0700 /var/lib/fencegate
VOLUME ["/var/lib/fencegate"]

# The environment beats the configuration file: to listen elsewhere, set these anew.
ENV NODE_ENV=production \
    FENCEGATE_DATA=/var/lib/fencegate \
    FENCEGATE_LISTEN=0.0.0.0:8470 \
    FENCEGATE_ADMIN=0.0.0.0:8471
EXPOSE 8470 8471

# By number, so that an orchestrator can see that it isn't root.
USER 1000:1000

HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://${process.env.FENCEGATE_ADMIN}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
