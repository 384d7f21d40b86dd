# make           the static binary
# make check     every test; the same as .ci/run
# make install   binary, manual pages and completions below $(DESTDIR)$(PREFIX)
# make packages  deb, rpm, apk and Arch packages in build/, with checksums, licences of what is linked and a bill of materials
# make image     a container image with podman, buildah or docker
# make lint      lintian on the Debian package
#
# TAGS=keeper makes a binary that can be a keeper of a cluster (docs/cluster.md); it is 13 MB larger.
# ARCH=arm64 make packages builds for another machine. MAINTAINER is who builds the packages, as Debian's tools understand it.

PREFIX ?= /usr/local
BIN := mirrord
VERSION := $(shell sed -n 's/^const Number = "\(.*\)"/\1/p' internal/version/version.go)
ARCH ?= $(shell go env GOARCH)
ifneq ($(DEBEMAIL),)
MAINTAINER ?= $(or $(DEBFULLNAME),$(USER)) <$(DEBEMAIL)>
endif
MAINTAINER ?= $(shell git config user.name 2>/dev/null || id -un) <$(shell git config user.email 2>/dev/null || echo $$(id -un)@$$(hostname -f 2>/dev/null || hostname))>
# Nothing in a package is younger than the commit it is built from, so that two builds are equal.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
VCS := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)
GOBUILD := CGO_ENABLED=0 go build -trimpath $(if $(TAGS),-tags=$(TAGS)) -buildvcs=$(VCS) -ldflags=-s
export VERSION ARCH MAINTAINER SOURCE_DATE_EPOCH

.PHONY: build check fuzz install packages image lint screenshots clean

build:
	$(GOBUILD) -o $(BIN) ./cmd/mirrord

check:
	.ci/run

fuzz:
	FUZZTIME=60s .ci/run fuzz

install: build
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mirrord
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	./$(BIN) man $(DESTDIR)$(PREFIX)/share/man/man1
	./$(BIN) man --section 5 $(DESTDIR)$(PREFIX)/share/man/man5
	./$(BIN) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/mirrord
	./$(BIN) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mirrord
	./$(BIN) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mirrord.fish

# Manual pages and completions are written by a binary of this machine.
packages:
	rm -rf build
	mkdir -p build/tools build/files/usr/share/doc/mirrord
	$(MAKE) install DESTDIR=build/files PREFIX=/usr
	[ $(ARCH) = "$$(go env GOARCH)" ] || GOARCH=$(ARCH) $(GOBUILD) -o build/files/usr/bin/mirrord ./cmd/mirrord
	cd tools && go build -o ../build/tools/ ./sbom github.com/goreleaser/nfpm/v2/cmd/nfpm
	build/tools/sbom build/files/usr/bin/mirrord $(VERSION) build/mirrord_$(VERSION)_$(ARCH).cdx.json build/files/usr/share/doc/mirrord/LICENSES.linked
	gzip -9n build/files/usr/share/man/man1/*.1 build/files/usr/share/man/man5/*.5
	packaging/debian-changelog | gzip -9n > build/files/usr/share/doc/mirrord/changelog.gz
	find build/files -exec touch -h -d @$(SOURCE_DATE_EPOCH) {} +
	for kind in deb rpm apk archlinux; do \
		build/tools/nfpm package --config packaging/nfpm.yaml --packager $$kind --target build/ || exit 1; \
	done
	cd build && sha256sum mirrord* > SHA256SUMS

lint:
	lintian --fail-on error --suppress-tags statically-linked-binary build/*.deb

# Any of the three will do. The image holds the binary and the certificates of authorities of this machine, nothing else.
BUILDER ?= $(firstword $(shell command -v podman buildah docker))
image: build
	@test -n "$(BUILDER)" || { echo "install podman, buildah or docker" >&2; exit 1; }
	install -D -m 755 $(BIN) build/image/mirrord
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt build/image/ca-certificates.crt
	mkdir -p build/image/state build/image/jobs
	$(BUILDER) build $(if $(findstring docker,$(BUILDER)),,--format docker) -f Containerfile -t mirrord:$(VERSION) build/image

# The pictures of the console in README and docs, at the end of mirrord demo. It needs Chromium.
screenshots:
	MIRRORD_SHOTS=$(CURDIR)/docs go test -count=1 -tags browser -run '^TestBrowser$$' ./cmd/mirrord

clean:
	rm -f $(BIN)
	rm -rf build
	rm -rf mirrord-demo
