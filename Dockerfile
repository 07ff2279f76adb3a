# The broker as a container image.
#
# Node 24: of the two lines in long-term support it is kept up longer (until April 2028), it ends a connection that resets
# streams rapidly by itself, and it refuses socket paths that are too long instead of cutting them.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Nothing that is installed needs its install script; our own build comes below.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts ./scripts
COPY proto ./proto
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production
# An ordinary user's state is below this, root's below /var/lib: with this both use the same folder.
ENV XDG_STATE_HOME=/var/lib
WORKDIR /opt/plugin-broker
COPY package.json LICENSE ./
COPY proto ./proto
COPY config ./config
COPY deploy ./deploy
COPY docs ./docs
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
RUN ln -s /opt/plugin-broker/dist/plugin-broker.cjs /usr/local/bin/plugin-broker \
    && ln -s /opt/plugin-broker/dist/csi-node-driver-registrar.cjs /usr/local/bin/csi-node-driver-registrar \
    && install -d -o node -g node -m 0755 /var/lib/plugin-broker
# Enough for plugins that run as the same user. Most run as root, and only root may connect to their sockets: give the
# container user 0 for those, as the manifests in deploy/ do.
USER node
VOLUME /var/lib/plugin-broker
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["plugin-broker", "status"]
# The daemon is the container's first process: it gets the signals itself.
ENTRYPOINT ["plugin-broker"]
CMD ["serve"]
