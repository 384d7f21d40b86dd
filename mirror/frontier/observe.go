// SPDX-License-Identifier: Apache-2.0

package frontier

import "mirrord/fetch"

// observe takes out of an observation what says nothing of the host. A port that has never answered, of a
// host that answers at another one, says nothing of how busy the host is. Nor does the failure of a URL that
// failed in earlier runs, while only such URLs fail and others of the origin answer; that there was no
// connection, or a 429, is not of the URL.
func (k *trouble) observe(
	o *fetch.Observation, hostAnswered, failedBefore bool, res *fetch.Result, err error,
) {
	if err == nil {
		k.slowest = max(k.slowest, res.ToHeader)
	}
	switch {
	case err != nil && !k.answered && hostAnswered:
		o.Err = nil
	case !o.Distress():
	case failedBefore && k.answered && !k.sick && !fetch.Unconnected(err) && SymptomOfStatus(o.Status) != Busy:
		o.Err, o.Status = nil, 0
	default:
		k.sick = true
	}
}
