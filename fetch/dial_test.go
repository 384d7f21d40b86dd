package fetch

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestGuardedDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	for _, tc := range []struct {
		name string
		o    Options
		good bool
	}{
		{"loopback", Options{}, false},
		{"behind a proxy that does not count", Options{Proxy: "http://proxy.example:3128"}, false},
		{"allowed host", Options{AllowHosts: []string{addr}}, true},
		{"another port", Options{AllowHosts: []string{"127.0.0.1:1"}}, false},
		{"all allowed", Options{AllowPrivate: true}, true},
	} {
		conn, err := GuardedDial(tc.o)(context.Background(), "tcp", addr)
		if conn != nil {
			conn.Close()
		}
		if tc.good != (err == nil) || !tc.good && !errors.Is(err, ErrForbiddenAddress) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
