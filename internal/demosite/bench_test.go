// SPDX-License-Identifier: Apache-2.0

package demosite

import "testing"

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}
