# make          the static binary
# make check    every test; the same as .ci/run
# make install  binary, manual pages and completions below $(DESTDIR)$(PREFIX)
# make packages deb and rpm in build/, of VERSION for ARCH

PREFIX ?= /usr/local
BIN := mirrord
VERSION ?= 0.1.0
ARCH ?= $(shell go env GOARCH)

.PHONY: build check fuzz install packages clean

build:
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o $(BIN) ./cmd/mirrord

check:
	.ci/run

fuzz:
	FUZZTIME=60s .ci/run fuzz

install: build
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mirrord
	mkdir -p $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	./$(BIN) man $(DESTDIR)$(PREFIX)/share/man/man1
	./$(BIN) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/mirrord
	./$(BIN) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mirrord
	./$(BIN) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mirrord.fish

# Manual pages and completions are written by a binary of this machine.
packages:
	rm -rf build
	mkdir -p build/tools
	$(MAKE) install DESTDIR=build/files PREFIX=/usr
	CGO_ENABLED=0 GOARCH=$(ARCH) go build -trimpath -ldflags=-s -o build/files/usr/bin/mirrord ./cmd/mirrord
	cd tools && go build -o ../build/tools/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm
	for kind in deb rpm; do VERSION=$(VERSION) ARCH=$(ARCH) build/tools/nfpm package --config packaging/nfpm.yaml --packager $$kind --target build/ || exit 1; done

clean:
	rm -f $(BIN)
	rm -rf build
	rm -rf mirrord-demo
