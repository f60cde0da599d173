// Cluster shapes that do not exist. -DSHAPE_... says which.
#include "misuse.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
using Shape = ClusterShape<2, 4, 4>;
#elif defined(SHAPE_ODD_PAIRS)
using Shape = ClusterShape<2, 3, 1>;
#elif defined(SHAPE_TOO_LARGE)
using Shape = ClusterShape<1, 8, 4>;
#elif defined(SHAPE_GROUP_OF_THREE)
using Shape = ClusterShape<3, 3, 1>;
#endif

static_assert(Shape::size > 0);
