// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"strings"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/replica/hosts"
	"mirrord/serve"
	"mirrord/store"
)

// GatewayOf returns how a gateway serves what the registry of a state knows. Requests go where the job of the
// mirror may connect, as by f. order is a list of sources with commas; "" is the default.
func GatewayOf(a *env.App, st *store.State, f *serve.Forward, order string) *serve.Gateway {
	g := &serve.Gateway{
		Transport: f.Transport,
		Sites: func() ([]serve.GatewaySite, error) {
			reg, err := replicas.RegistryIn(a, st)
			if err != nil {
				return nil, err
			}
			return gatewaySites(reg), nil
		},
	}
	for s := range strings.SplitSeq(order, ",") {
		if s = strings.TrimSpace(s); s != "" {
			g.Order = append(g.Order, serve.GatewaySource(s))
		}
	}
	return g
}

// gatewaySites returns what a gateway may serve: mirrors, and places that a test of late found
// interchangeable, or single paths of them equal.
func gatewaySites(reg *replicas.Registry) (out []serve.GatewaySite) {
	for i := range reg.Mirrors {
		m := &reg.Mirrors[i]
		x := serve.GatewaySite{Name: m.Job, Prefixes: m.Prefixes}
		for _, e := range m.Equivalents {
			if (e.Interchangeable || len(e.Equal) > 0) && reg.Made.Sub(e.Tested) <= hosts.TestedFor {
				x.Same = append(x.Same, serve.GatewayPlace{Of: e.Of, At: e.At, Only: e.Equal})
			}
		}
		out = append(out, x)
	}
	return out
}
