package config

// Clients bounds the resources of one client: one principal, one address, or one session.
type Clients struct {
	Sessions int   `yaml:"sessions" usage:"most sessions of one principal, or of all anonymous callers"`
	Tasks    int   `yaml:"tasks" usage:"most tasks of one principal, or of all anonymous callers, including ended ones that can be read"`
	Bytes    Bytes `yaml:"bytes" usage:"most bytes of a principal's sessions and tasks together, or of those of the anonymous callers of one address"`
	// Connections bounds those of one address; 0: half of Listen.Connections.
	Connections   int `yaml:"connections" usage:"most connections of one address; 0: half of listen.connections"`
	Subscriptions int `yaml:"subscriptions" usage:"most resources that one session or listen subscribes to"`
}

func defaultClients() Clients {
	return Clients{Sessions: 100_000, Tasks: 1000, Bytes: 256 << 20, Subscriptions: 1024}
}
