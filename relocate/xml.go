package relocate

type xmlBase struct{}

func (sc *scanner) xml(v view)      {}
func (sc *scanner) manifest(v view) {}
