package near

import (
	"os"
	"testing"
)

func TestGolden(t *testing.T) {
	for _, name := range []string{"testdata/golden.json", "../../shared/data/near-golden.json"} {
		f, err := os.Open(name)
		if err != nil {
			if name[0] != '.' {
				t.Fatal(err)
			}
			t.Logf("the shared file of expected values is missing, only ours was checked: %v", err)
			continue
		}
		report, err := CheckGolden(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range report.Problems {
			t.Errorf("%s: %s", name, p)
		}
		t.Logf("%s: %d cases, %d values", name, report.Cases, report.Values)
	}
}
