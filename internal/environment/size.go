package environment

// Sizes are the machines that a spec may name, smallest first. The process
// limits are ours: room for a build with a worker per CPU, yet a fork bomb ends
// before the host notices.
var Sizes = []Size{
	{Slug: "small", VCPUs: 1, MemoryMB: 1024, DiskMB: 10 << 10, Pids: 256},
	{Slug: "medium", VCPUs: 2, MemoryMB: 2048, DiskMB: 20 << 10, Pids: 512},
	{Slug: "large", VCPUs: 4, MemoryMB: 8192, DiskMB: 40 << 10, Pids: 1024},
}

// FindSize finds a size by its slug.
func FindSize(slug string) (Size, bool) {
	for _, s := range Sizes {
		if s.Slug == slug {
			return s, true
		}
	}
	return Size{}, false
}

func sizeSlugs() []string {
	slugs := make([]string, len(Sizes))
	for i, s := range Sizes {
		slugs[i] = s.Slug
	}
	return slugs
}
