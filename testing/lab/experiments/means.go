// SPDX-License-Identifier: Apache-2.0

package experiments

// mean gathers values, those that are undefined left out.
type mean struct {
	sum float64
	n   int
}

// add adds a/b.
func (m *mean) add(a, b int) {
	if b != 0 {
		m.sum, m.n = m.sum+share(a, b), m.n+1
	}
}

// addMean adds a mean of others.
func (m *mean) addMean(of mean) {
	if of.n != 0 {
		m.sum, m.n = m.sum+of.sum/float64(of.n), m.n+1
	}
}

// value is nil when there were no values.
func (m *mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	v := m.sum / float64(m.n)
	return &v
}

// share is a/b; 0 when b is 0.
func share(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
