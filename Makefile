# make          the static binary
# make check    every test; the same as .ci/run
# make install  binary, manual pages and completions below $(DESTDIR)$(PREFIX)

PREFIX ?= /usr/local
BIN := mirrord

.PHONY: build check fuzz install clean

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

clean:
	rm -f $(BIN)
	rm -rf mirrord-demo
