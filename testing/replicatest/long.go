// SPDX-License-Identifier: Apache-2.0

package replicatest

import "os"

// Long reports whether tests are to take their time: MIRRORD_LONG is set.
func Long() bool { return os.Getenv("MIRRORD_LONG") != "" }
