// SPDX-License-Identifier: Apache-2.0

// Package systemd speaks the three small protocols between a service and systemd: readiness and watchdog
// (sd_notify(3)), and sockets that were opened before the service was started (sd_listen_fds(3)). Without
// systemd all of it does nothing.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// patience is how long systemd may take to read a notification: a service that waited forever could not end.
const patience = time.Second

// Notify tells systemd how the service stands: "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=…", several
// with line ends between them.
func Notify(lookupEnv func(string) (string, bool), state string) error {
	addr, ok := lookupEnv("NOTIFY_SOCKET")
	if !ok || addr == "" {
		return nil
	}
	if addr[0] == '@' { // abstract
		addr = "\x00" + addr[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: addr, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	defer c.Close()
	c.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	return nil
}

// Watchdog returns how often systemd wants to hear WATCHDOG=1 at least; 0: it does not.
func Watchdog(lookupEnv func(string) (string, bool), pid int) time.Duration {
	if p, ok := lookupEnv("WATCHDOG_PID"); ok && p != strconv.Itoa(pid) {
		return 0
	}
	v, _ := lookupEnv("WATCHDOG_USEC")
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// firstFD is the first descriptor that systemd passes (SD_LISTEN_FDS_START).
const firstFD = 3

// Listeners returns the sockets that systemd opened, by their names (FileDescriptorName= of the socket unit).
// It is called once.
func Listeners(lookupEnv func(string) (string, bool), pid int) (map[string]net.Listener, error) {
	p, _ := lookupEnv("LISTEN_PID")
	v, _ := lookupEnv("LISTEN_FDS")
	n, err := strconv.Atoi(v)
	if p != strconv.Itoa(pid) || err != nil || n <= 0 || n > 100 {
		return nil, nil
	}
	list, _ := lookupEnv("LISTEN_FDNAMES")
	names := strings.Split(list, ":")
	out := map[string]net.Listener{}
	for i := range n {
		name := "unknown"
		if i < len(names) && names[i] != "" {
			name = names[i]
		}
		f := os.NewFile(uintptr(firstFD+i), name)
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			return out, fmt.Errorf("socket %s of systemd: %w", name, err)
		}
		if old := out[name]; old != nil {
			old.Close()
		}
		out[name] = l
	}
	return out, nil
}
