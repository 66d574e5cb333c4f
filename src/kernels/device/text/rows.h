/* What is made of rows of numbers: sixteen items have a row. */

#define OWN_ROW ((LONG)GROUP(0) * ROWS + ITEM / LANES)

/* Where a row begins, of which `parts` follow each other at each of places that are so far apart. */
#define PLACE_OF(row) ((row) / parts * apart + (row) % parts * width)

/* What a row is multiplied by, of which so many numbers are live: all, or none where there is no row. */
DEVICE float norm_factor(IN_SHARED(float) lanes, IN_TABLE(float) x, int live, int width, float epsilon) {
    float own = 0.0f;
    for (int i = ITEM % LANES; i < live; i += LANES) own = own + x[i] * x[i];
    return 1.0f / SQRT(sum_of_lanes(lanes, own) / (float)width + epsilon);
}

KERNEL(norm_forward)(READ(float, x), READ(float, weight), WRITE(float, y), LONG rows, INT(width), INT(parts),
                     LONG apart, FLOAT(epsilon)) {
    OPEN_READ(float, x);
    OPEN_READ(float, weight);
    OPEN_WRITE(float, y);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    x += PLACE_OF(row);
    y += PLACE_OF(row);
    const float r = norm_factor(lanes, x, live, width, epsilon);
    for (int i = lane; i < live; i += LANES) y[i] = x[i] * r * weight[i];
}

/* The gradient of rows, and the factor of each row. */
KERNEL(norm_backward)(READ(float, x), READ(float, weight), READ(float, g), READ(float, residual), INT(has_residual),
                      WRITE(float, gx), WRITE(float, factors), LONG rows, INT(width), INT(parts), LONG apart,
                      FLOAT(epsilon)) {
    OPEN_READ(float, x);
    OPEN_READ(float, weight);
    OPEN_READ(float, g);
    OPEN_READ(float, residual);
    OPEN_WRITE(float, gx);
    OPEN_WRITE(float, factors);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    x += PLACE_OF(row);
    g += PLACE_OF(row);
    gx += PLACE_OF(row);
    residual += PLACE_OF(row);
    const float r = norm_factor(lanes, x, live, width, epsilon);
    float own = 0.0f;
    for (int i = lane; i < live; i += LANES) own = own + g[i] * weight[i] * x[i];
    const float dot = sum_of_lanes(lanes, own);
    const float c = dot * r * r * r / (float)width;
    for (int i = lane; i < live; i += LANES) {
        const float before = has_residual ? residual[i] : 0.0f;
        gx[i] = before + (g[i] * weight[i] * r - x[i] * c);
    }
    if (lane == 0 && row < rows) factors[row] = r;
}

/* Rows whose gradients of the weight are one sum. */
#define NORM_ROWS 64

KERNEL(norm_parts)(READ(float, x), READ(float, g), READ(float, factors), WRITE(float, sums), LONG rows, INT(width),
                   INT(parts), LONG apart) {
    OPEN_READ(float, x);
    OPEN_READ(float, g);
    OPEN_READ(float, factors);
    OPEN_WRITE(float, sums);
    const int i = GROUP(1) * ITEMS + ITEM, part = GROUP(0);
    const LONG from = (LONG)part * NORM_ROWS, end = from + NORM_ROWS < rows ? from + NORM_ROWS : rows;
    if (i >= width) return;
    float sum = 0.0f;
    for (LONG row = from; row < end; row++) {
        const LONG place = PLACE_OF(row) + i;
        sum = sum + g[place] * x[place] * factors[row];
    }
    sums[(LONG)part * width + i] = sum;
}

/* Takes the mean off each row; what is a gradient is added to a residual then, or to +0. */
KERNEL(centre)(WRITE(float, x), READ(float, residual), INT(has_residual), INT(is_gradient), LONG rows, INT(width)) {
    OPEN_WRITE(float, x);
    OPEN_READ(float, residual);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    x += row * width;
    residual += row * width;
    float own = 0.0f;
    for (int i = lane; i < live; i += LANES) own = own + x[i];
    const float mean = sum_of_lanes(lanes, own) / (float)width;
    for (int i = lane; i < live; i += LANES) {
        const float off = x[i] - mean;
        x[i] = is_gradient ? off + (has_residual ? residual[i] : 0.0f) : off;
    }
}

/* Adds the same row to each. */
KERNEL(add_row)(READ(float, row), WRITE(float, into), LONG count, INT(width)) {
    OPEN_READ(float, row);
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = into[i] + row[i % width];
}

/* Sums of columns in the order of the rows, from +0. */
KERNEL(sum_rows)(READ(float, x), WRITE(float, y), INT(rows), INT(width)) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, y);
    const int i = GROUP(0) * ITEMS + ITEM;
    if (i >= width) return;
    float sum = 0.0f;
    for (int row = 0; row < rows; row++) sum = sum + x[(LONG)row * width + i];
    y[i] = sum;
}

/* The same of the gradients of a norm's weight, or of its bias, rounded after each row. */
KERNEL(sum_rows_narrowed)(READ(float, x), READ(float, g), READ(float, factors), INT(is_of_weight), WRITE(float, y),
                          INT(rows), INT(width), INT(dropped), INT(at_random), LONG seed) {
    OPEN_READ(float, x);
    OPEN_READ(float, g);
    OPEN_READ(float, factors);
    OPEN_WRITE(float, y);
    const int i = GROUP(0) * ITEMS + ITEM;
    if (i >= width) return;
    float sum = 0.0f;
    for (int row = 0; row < rows; row++) {
        const LONG place = (LONG)row * width + i, draw = 2 * (LONG)row + (is_of_weight ? 0 : 1);
        const float own = is_of_weight ? 0.0f + g[place] * x[place] * factors[row] : g[place];
        sum = narrowed(sum + own, dropped, at_random, (ULONG)seed + ((ULONG)draw << 24), (ULONG)i);
    }
    y[i] = sum;
}

/* The functions of inner rows, by number. */
#define SILU 0
#define GELU 1
#define GELU_TANH 2
#define RELU 3

DEVICE float bent(float x) {
    return 0.7978845608028654f * (x + 0.044715f * (x * x * x));
}

/* NaN stays NaN. */
DEVICE float above_zero(float x) {
    return x < 0.0f ? 0.0f : x;
}

DEVICE float activation(int function, float x) {
    if (function == SILU) return x * sigmoid(x);
    if (function == GELU) return 0.5f * x * (1.0f + error_function(x * 0.7071067811865476f));
    if (function == GELU_TANH) return 0.5f * x * (1.0f + hyperbolic_tangent(bent(x)));
    return function == RELU ? above_zero(x) : above_zero(x) * above_zero(x);
}

DEVICE float activation_slope(int function, float x) {
    if (function == SILU) {
        const float p = sigmoid(x);
        return p + x * p * (1.0f - p);
    }
    if (function == GELU) {
        const float density = exponential(-0.5f * x * x) * 0.7071067811865476f * 0.5641895835477563f;
        return 0.5f * (1.0f + error_function(x * 0.7071067811865476f)) + x * density;
    }
    if (function == GELU_TANH) {
        const float t = hyperbolic_tangent(bent(x));
        const float inner = 0.7978845608028654f * (1.0f + 0.134145f * x * x);
        return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
    }
    if (x > 0.0f) return function == RELU ? 1.0f : x + x;
    return 0.0f;
}

/* A function of each number, or with a gate `f(a) b` of rows of a and then b. */
KERNEL(activate)(READ(float, x), WRITE(float, y), LONG rows, INT(width), INT(gated), INT(function)) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, y);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * width) return;
    const LONG row = place / width, a = gated ? row * width + place : place;
    const float value = activation(function, x[a]);
    y[place] = gated ? value * x[a + width] : value;
}

KERNEL(activate_back)(READ(float, x), READ(float, g), WRITE(float, gx), LONG rows, INT(width), INT(gated), INT(function)) {
    OPEN_READ(float, x);
    OPEN_READ(float, g);
    OPEN_WRITE(float, gx);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * width) return;
    const LONG row = place / width, a = gated ? row * width + place : place;
    const float slope = activation_slope(function, x[a]);
    gx[a] = gated ? g[place] * x[a + width] * slope : g[place] * slope;
    if (gated) gx[a + width] = g[place] * activation(function, x[a]);
}

/* The inner rows of a gated network, times the gate of the row where there is one. */
KERNEL(swiglu_forward)(READ(float, a_b), READ(float, gates), INT(has_gates), WRITE(float, s), LONG rows, INT(width)) {
    OPEN_READ(float, a_b);
    OPEN_READ(float, gates);
    OPEN_WRITE(float, s);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * width) return;
    const LONG row = place / width, i = place - row * width;
    const float a = a_b[row * 2 * width + i], b = a_b[row * 2 * width + width + i];
    float inner = a * sigmoid(a) * b;
    if (has_gates) inner = inner * gates[row];
    s[place] = inner;
}

KERNEL(swiglu_backward)(READ(float, a_b), READ(float, gates), INT(has_gates), READ(float, gs), WRITE(float, s),
                        WRITE(float, g_a_b), WRITE(float, g_gates), INT(rows), INT(width)) {
    OPEN_READ(float, a_b);
    OPEN_READ(float, gates);
    OPEN_READ(float, gs);
    OPEN_WRITE(float, s);
    OPEN_WRITE(float, g_a_b);
    OPEN_WRITE(float, g_gates);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    a_b += row * 2 * width;
    g_a_b += row * 2 * width;
    gs += row * width;
    s += row * width;
    const float gate = has_gates && row < rows ? gates[row] : 1.0f;
    float own = 0.0f;
    for (int i = lane; i < live; i += LANES) {
        const float a = a_b[i], b = a_b[width + i], g = has_gates ? gs[i] * gate : gs[i];
        const float p = sigmoid(a), inner = a * p * b;
        g_a_b[i] = g * b * (p + a * p * (1.0f - p));
        g_a_b[width + i] = g * a * p;
        s[i] = has_gates ? inner * gate : inner;
        own = own + gs[i] * inner;
    }
    const float sum = sum_of_lanes(lanes, own);
    if (has_gates && lane == 0 && row < rows) g_gates[row] = sum;
}

/* A target that does not count. */
#define IGNORED (-1)

/* Logits become the gradient of the mean of `count` surprises; `part` is one over that count. */
KERNEL(cross_entropy)(WRITE(float, logits), READ(unsigned int, targets), WRITE(float, nats), INT(rows), INT(columns),
                      FLOAT(part)) {
    OPEN_WRITE(float, logits);
    OPEN_READ(unsigned int, targets);
    OPEN_WRITE(float, nats);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? columns : 0;
    logits += row * columns;
    const int target = live ? (int)targets[row] : IGNORED;
    const float at_target = target == IGNORED ? 0.0f : logits[target];
    float own = LOWEST;
    for (int i = lane; i < live; i += LANES) own = more(own, logits[i]);
    const float most = largest_of_lanes(lanes, own);
    own = 0.0f;
    for (int i = lane; i < live; i += LANES) {
        logits[i] = exponential(logits[i] - most);
        own = own + logits[i];
    }
    const float total = sum_of_lanes(lanes, own);
    const float factor = part / total;
    for (int i = lane; i < live; i += LANES) {
        const float g = logits[i] * factor;
        logits[i] = target == IGNORED ? 0.0f : i == target ? g - part : g;
    }
    if (lane == 0 && live) nats[row] = target == IGNORED ? 0.0f : logarithm(total) + (most - at_target);
}

/* The same of targets of which a share is spread evenly over all columns, `each` for one and `rest` for what is left; `twice`
 * is twice the weight of the loss of large logits. */
KERNEL(regularized)(WRITE(float, logits), READ(unsigned int, targets), WRITE(float, nats), WRITE(float, squares), INT(rows),
                    INT(columns), FLOAT(part), FLOAT(rest), FLOAT(each), FLOAT(twice)) {
    OPEN_WRITE(float, logits);
    OPEN_READ(unsigned int, targets);
    OPEN_WRITE(float, nats);
    OPEN_WRITE(float, squares);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? columns : 0;
    logits += row * columns;
    const int target = live ? (int)targets[row] : IGNORED;
    const float at_target = target == IGNORED ? 0.0f : logits[target];
    float own = LOWEST, plain = 0.0f;
    for (int i = lane; i < live; i += LANES) {
        own = more(own, logits[i]);
        plain = plain + logits[i];
    }
    const float most = largest_of_lanes(lanes, own), spread = sum_of_lanes(lanes, plain);
    own = 0.0f;
    for (int i = lane; i < live; i += LANES) {
        logits[i] = exponential(logits[i] - most);
        own = own + logits[i];
    }
    const float total = sum_of_lanes(lanes, own);
    const float size = most + logarithm(total), factor = (1.0f + twice * size) / total;
    for (int i = lane; i < live; i += LANES) {
        const float g = part * (logits[i] * factor - each);
        logits[i] = target == IGNORED ? 0.0f : i == target ? g - part * rest : g;
    }
    if (lane == 0 && live) {
        nats[row] = target == IGNORED ? 0.0f : size - rest * at_target - each * spread;
        squares[row] = target == IGNORED ? 0.0f : size * size;
    }
}

KERNEL(score)(READ(float, logits), READ(unsigned int, targets), WRITE(float, nats), WRITE(int, greedy), INT(rows),
              INT(columns)) {
    OPEN_READ(float, logits);
    OPEN_READ(unsigned int, targets);
    OPEN_WRITE(float, nats);
    OPEN_WRITE(int, greedy);
    SHARED(float, lanes, ITEMS);
    SHARED(int, places, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? columns : 0;
    logits += row * columns;
    float own = LOWEST;
    for (int i = lane; i < live; i += LANES) own = more(own, logits[i]);
    const float most = largest_of_lanes(lanes, own);
    own = 0.0f;
    int place = columns;
    for (int i = lane; i < live; i += LANES) {
        own = own + exponential(logits[i] - most);
        if (place == columns && logits[i] == most) place = i;
    }
    const float total = sum_of_lanes(lanes, own);
    const int guess = least_of_lanes(places, place);
    if (lane == 0 && live) {
        const int target = (int)targets[row];
        nats[row] = target == IGNORED ? 0.0f : logarithm(total) + (most - logits[target]);
        greedy[row] = guess == target;
    }
}
