package capability

import "sync"

// shared runs a function while it has users. The zero value runs nothing.
type shared struct {
	begin func() (stop func(), err error) // nil runs nothing

	mu    sync.Mutex
	users int
	stop  func()
}

// acquire starts it for the first user. Each successful acquire needs one release.
func (s *shared) acquire() error {
	if s.begin == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		stop, err := s.begin()
		if err != nil {
			return err
		}
		s.stop = stop
	}
	s.users++
	return nil
}

// release stops it after the last user.
func (s *shared) release() {
	if s.begin == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users == 0 && s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
