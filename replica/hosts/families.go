// SPDX-License-Identifier: Apache-2.0

package hosts

// eachCommon calls f with every two of the members that have hashes in common, i before j, and how many.
func eachCommon(samples [][]uint64, members []uint32, f func(i, j, common int)) {
	on := map[uint64][]uint32{} // the members before that have a hash
	count, met := make([]uint16, len(members)), []uint32(nil)
	for j, m := range members {
		met = met[:0]
		for _, x := range samples[m] {
			for _, i := range on[x] {
				if count[i] == 0 {
					met = append(met, i)
				}
				count[i]++
			}
			on[x] = append(on[x], uint32(j))
		}
		for _, i := range met {
			f(int(i), j, int(count[i]))
			count[i] = 0
		}
	}
}
