// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
)

// The forms of a daemon's log.
const (
	LogText    = "text"
	logJSON    = "json"
	logJournal = "journal" // text without the time, each line with its priority before it (sd-daemon(3))
)

// DaemonLog returns the logger of a daemon. form "" is journal when standard error leads there, else text.
func DaemonLog(
	w io.Writer, form string, level slog.Level, lookupEnv func(string) (string, bool),
) (*slog.Logger, error) {
	if form == "" {
		form = LogText
		if toJournal(w, lookupEnv) {
			form = logJournal
		}
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: cli.WithoutEmpty}
	switch form {
	case LogText:
		return slog.New(cli.NewRepeats(slog.NewTextHandler(w, o))), nil
	case logJSON:
		return slog.New(cli.NewRepeats(slog.NewJSONHandler(w, o))), nil
	case logJournal:
		o.ReplaceAttr = withoutTime
		return slog.New(cli.NewRepeats(slog.NewTextHandler(journal{w}, o))), nil
	}
	return nil, env.Usagef("log %s: there are text, json and journal", form)
}

// toJournal reports whether w is the stream that the journal reads: $JOURNAL_STREAM names its device and
// inode (systemd.exec(5)).
func toJournal(w io.Writer, lookupEnv func(string) (string, bool)) bool {
	f, ok := w.(*os.File)
	stream, set := lookupEnv("JOURNAL_STREAM")
	if !ok || !set {
		return false
	}
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	sys, ok := fi.Sys().(*syscall.Stat_t)
	dev, inode, _ := strings.Cut(stream, ":")
	return ok && strconv.FormatUint(sys.Dev, 10) == dev && strconv.FormatUint(sys.Ino, 10) == inode
}

// withoutTime leaves out what the journal adds itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return cli.WithoutEmpty(groups, a)
}

// journal writes a priority as syslog(3) counts in place of the level with which each line begins. A handler
// of package slog writes a line by one call.
type journal struct{ w io.Writer }

func (j journal) Write(line []byte) (int, error) {
	level, rest, _ := bytes.Cut(line, []byte(" "))
	name, _, _ := strings.Cut(strings.TrimPrefix(string(level), slog.LevelKey+"="), "+")
	priority := map[string]int{"DEBUG": 7, "INFO": 6, "WARN": 4, "ERROR": 3}[name]
	if _, err := fmt.Fprintf(j.w, "<%d>%s", priority, rest); err != nil {
		return 0, err
	}
	return len(line), nil
}
