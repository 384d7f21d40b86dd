// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
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
		return slog.New(cli.NewRepeats(newJournal(w, level))), nil
	}
	return nil, env.Usagef("--log %s: there are text, json and journal", form)
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

// journal is a slog.Handler that writes a priority before each line.
type journal struct {
	mu    *sync.Mutex
	w     io.Writer
	buf   *bytes.Buffer
	text  slog.Handler // writes into buf
	level slog.Level
}

func newJournal(w io.Writer, level slog.Level) *journal {
	buf := new(bytes.Buffer)
	return &journal{
		mu:    new(sync.Mutex),
		w:     w,
		buf:   buf,
		level: level,
		text:  slog.NewTextHandler(buf, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}),
	}
}

// withoutTime leaves out what the journal adds itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return cli.WithoutEmpty(groups, a)
}

func (j *journal) Enabled(_ context.Context, l slog.Level) bool { return l >= j.level }

func (j *journal) Handle(ctx context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buf.Reset()
	fmt.Fprintf(j.buf, "<%d>", priority(r.Level))
	if err := j.text.Handle(ctx, r); err != nil {
		return err
	}
	_, err := j.w.Write(j.buf.Bytes())
	return err
}

func (j *journal) WithAttrs(as []slog.Attr) slog.Handler {
	c := *j
	c.text = j.text.WithAttrs(as)
	return &c
}

func (j *journal) WithGroup(name string) slog.Handler {
	c := *j
	c.text = j.text.WithGroup(name)
	return &c
}

// priority is a level as syslog(3) counts.
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	}
	return 7
}
