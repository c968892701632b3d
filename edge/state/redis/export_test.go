package redis

// Digest is the digest of a script of this package, by the name of its file.
func Digest(name string) string {
	for _, s := range scripts {
		if s.name == name {
			return s.Hash()
		}
	}
	panic("no script " + name)
}

// Forget is what a replica does when Redis may have lost writes.
func (r *Replica) Forget() { r.forget() }
