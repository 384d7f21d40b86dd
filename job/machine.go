// SPDX-License-Identifier: Apache-2.0

package job

import "strings"

// MachineKeys returns the keys in which two jobs differ that name commands, files, secrets or private
// addresses of the mirror's machine. Whoever may only change jobs, and has no account there, must not set
// them.
func MachineKeys(a, b *Job) (names []string) {
	for _, k := range Keys() {
		if k.ofMachine() && encode(k.field(a)) != encode(k.field(b)) {
			names = append(names, k.Name)
		}
	}
	return names
}

func (k Key) ofMachine() bool {
	for _, prefix := range []string{
		HookPrefix, "notify.command", "notify.webhook", "auth.", "tls.", "publish.dir", "polite.allow_private",
	} {
		if strings.HasPrefix(k.Name, prefix) {
			return true
		}
	}
	return k.Type == "path"
}
