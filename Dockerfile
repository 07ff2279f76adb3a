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
COPY config ./config
COPY LICENSE tsconfig.json ./
RUN npm run build && node scripts/stage.mjs /stage

FROM node:24-bookworm-slim
ENV NODE_ENV=production
# An ordinary user's state is below this, root's below /var/lib: with this both use the same folder.
ENV XDG_STATE_HOME=/var/lib
# What the daemon loads and nothing else: its bundles and one native module.
COPY --from=build /stage /opt/plugin-broker
RUN ln -s /opt/plugin-broker/dist/plugin-broker.cjs /usr/local/bin/plugin-broker \
    && ln -s /opt/plugin-broker/dist/csi-node-driver-registrar.cjs /usr/local/bin/csi-node-driver-registrar \
    && install -d -o node -g node -m 0711 /var/lib/plugin-broker
# Root, as most plugins are, whose sockets are for root alone. Where plugins run as another user, `--user` names that one: a
# plugin that may not be connected to is refused NOT_PERMITTED, which says who would have to run as whom.
VOLUME /var/lib/plugin-broker
# Unhealthy is what a start can mend: nobody answers. A daemon that is restoring or degraded answers and says so itself.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD plugin-broker status >/dev/null; test $? -eq 0 -o $? -eq 3
# The daemon is the container's first process: it gets the signals itself.
ENTRYPOINT ["plugin-broker"]
CMD ["serve"]
