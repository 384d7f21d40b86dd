// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"strings"

	"mirrord/fetch/reach"
	"mirrord/site"
)

// MachineKey is why only users with an account on the machine may change a key.
const MachineKey = "names a command, file, secret, proxy or private address of the machine, or another " +
	"site for the secrets of the job"

// MachineKeys returns the keys in which two jobs differ that name commands, files, secrets, a proxy or
// private addresses of the machine of the mirror, or that have b show the secrets of a to another origin.
// Users who may only change jobs, and have no account there, must not set them.
func MachineKeys(a, b *Job) (names []string) {
	for _, k := range everyKey() {
		if k.ofMachine() && encode(k.of(a)) != encode(k.of(b)) {
			names = append(names, k.Name)
		}
	}
	if namesInside(a.Seeds(), b.Seeds()) || (b.Auth.Given() && namesOrigin(a.Seeds(), b.Seeds())) {
		names = append(names, "url")
	}
	if namesInside(a.AlternateURLs(), b.AlternateURLs()) {
		names = append(names, "alternates")
	}
	return names
}

// namesInside reports whether one of the new URLs, and none of the old ones, is at a host that is private by
// itself, which a job may reach without polite.allow_private.
func namesInside(old, now []site.URL) bool {
	return slices.ContainsFunc(now, func(u site.URL) bool {
		same := func(v site.URL) bool { return EndpointOf(u) == EndpointOf(v) }
		return reach.PrivateName(u.Hostname()) && !slices.ContainsFunc(old, same)
	})
}

// namesOrigin reports whether one of the new URLs is at an origin at which none of the old ones is.
func namesOrigin(old, now []site.URL) bool {
	return slices.ContainsFunc(now, func(u site.URL) bool {
		same := func(v site.URL) bool { return u.Origin() == v.Origin() }
		return !slices.ContainsFunc(old, same)
	})
}

// ofMachine reports whether only users with an account on the machine may change the key. The connection to a
// proxy is not judged by its address, and what answers there is published.
func (k Key) ofMachine() bool {
	for _, prefix := range []string{
		HookPrefix, "notify.command", "notify.webhook", "auth.", "tls.", "publish.dir", "polite.allow_private",
		"proxy",
	} {
		if strings.HasPrefix(k.Name, prefix) {
			return true
		}
	}
	return k.Type == "path"
}
