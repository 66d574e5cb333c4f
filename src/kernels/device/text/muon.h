/* Between the products of Muon, which makes the step of a matrix nearly orthogonal. What is rounded goes to bfloat16, to the
 * nearest. */

#define TO_BFLOAT16(x) narrowed(x, 16, 0, 0, 0)

/* From the nearer end, rounded once. */
DEVICE float between(float from, float to, float weight) {
    const int is_near = weight < 0.5f;
    return FMA(is_near ? weight : weight - 1.0f, to - from, is_near ? from : to);
}

/* The mean, and the matrix that is made orthogonal, as its transpose where it is `turned`. */
KERNEL(muon_mean)(READ(float, g), WRITE(float, m), WRITE(float, into), INT(rows), INT(columns), INT(turned), INT(nesterov),
                  FLOAT(clip), FLOAT(kept), FLOAT(added)) {
    OPEN_READ(float, g);
    OPEN_WRITE(float, m);
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= (LONG)rows * columns) return;
    const float h = g[i] * clip, mean = between(m[i], h, added);
    m[i] = mean;
    const LONG row = i / columns, column = i - row * columns;
    into[turned ? column * rows + row : i] = nesterov ? between(h, mean, kept) : mean;
}

/* One item: what the matrix is divided by, from the sums of its squares. The norm may be rounded, and epsilon added to it, which
 * may be rounded too; or epsilon is the least that it is. */
KERNEL(muon_divisor)(READ(double, sums), WRITE(float, divisor), INT(count), FLOAT(epsilon), INT(is_least), INT(norm_rounded),
                     INT(sum_rounded)) {
    OPEN_READ(double, sums);
    OPEN_WRITE(float, divisor);
    if (ITEM > 0) return;
    double squares = 0.0;
    for (int i = 0; i < count; i++) squares = squares + sums[i];
    float norm = (float)WIDE_SQRT(squares);
    if (norm_rounded) norm = TO_BFLOAT16(norm);
    if (is_least) {
        norm = norm > epsilon ? norm : epsilon;
    } else {
        norm = norm + epsilon;
        if (sum_rounded) norm = TO_BFLOAT16(norm);
    }
    divisor[0] = norm;
}

KERNEL(muon_divide)(WRITE(float, x), READ(float, divisor), LONG count, INT(is_rounded)) {
    OPEN_WRITE(float, x);
    OPEN_READ(float, divisor);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    const float value = x[i] / divisor[0];
    x[i] = is_rounded ? TO_BFLOAT16(value) : value;
}

/* `y = y first + x second`; both products and the sum may be rounded. */
KERNEL(muon_add)(WRITE(float, y), READ(float, x), LONG count, FLOAT(first), FLOAT(second), INT(first_rounded),
                 INT(second_rounded), INT(sum_rounded)) {
    OPEN_WRITE(float, y);
    OPEN_READ(float, x);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    float own = y[i] * first, other = x[i] * second;
    if (first_rounded) own = TO_BFLOAT16(own);
    if (second_rounded) other = TO_BFLOAT16(other);
    y[i] = sum_rounded ? TO_BFLOAT16(own + other) : own + other;
}

/* Moves the weights by the nearly orthogonal matrix. */
KERNEL(muon_move)(WRITE(float, w), READ(float, way), INT(rows), INT(columns), INT(turned), FLOAT(rate), FLOAT(decay),
                  FLOAT(factor), INT(is_rounded)) {
    OPEN_WRITE(float, w);
    OPEN_READ(float, way);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= (LONG)rows * columns) return;
    const LONG row = i / columns, column = i - row * columns;
    float own = way[turned ? column * rows + row : i];
    if (factor != 1.0f) own = is_rounded ? TO_BFLOAT16(own * factor) : own * factor;
    w[i] = w[i] * decay - rate * own;
}
