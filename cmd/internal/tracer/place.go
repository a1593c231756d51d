package tracer

// place is where the tracer runs.
type place struct{}

func (p *place) follow(tid int) {}
