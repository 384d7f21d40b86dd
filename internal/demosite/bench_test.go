package demosite

import "testing"

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}
