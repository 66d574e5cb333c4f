/* Products: every chain over k in its order, in blocks whose sums are added; everything else is free.
 *
 * A group makes TALL rows and WIDE columns, an item PER_ROW of the rows and PER_COLUMN vectors of VECTOR columns. A device
 * that is a processor has one item with long vectors, others have many. DEEP steps of k lie in shared memory. */
#ifdef ONE_ITEM
#define VECTOR 16
#define VEC float16
#define LOAD_VEC(p) vload16(0, p)
#define STORE_VEC(v, p) vstore16(v, 0, p)
#define SPLAT(x) ((float16)(x))
#define TALL 8
#define DEEP 64
#define PER_ROW 8
#define PER_COLUMN 2
#define COLUMN_ITEMS 1
#define COLUMN(q) ((q) * VECTOR)
#define TALL_APART TALL
#else
#define VECTOR 1
#define VEC float
#define LOAD_VEC(p) (*(p))
#define STORE_VEC(v, p) (*(p) = (v))
#define SPLAT(x) (x)
#define TALL 128
#define DEEP 16
#define PER_ROW 8
#define PER_COLUMN 8
#define COLUMN_ITEMS 8
/* Four columns of an item lie side by side, so that one load of sixteen bytes has them. */
#define COLUMN(q) ((q) / 4 * 4 * COLUMN_ITEMS + (q) % 4)
/* Rows apart by a number that keeps the items of one store from meeting in one bank. */
#define TALL_APART (TALL + 4)
#endif
#define WIDE (COLUMN_ITEMS * PER_COLUMN * VECTOR)
#define PRODUCT_ITEMS (TALL / PER_ROW * COLUMN_ITEMS)

/* Rows of attention that see the keys up to the last one of them. */
#define TILE 32

/* Which of k a row takes: all; up to the end of its tile; from the beginning of its tile. */
#define ALL_OF_K 0
#define K_TO_TILE 1
#define K_FROM_TILE 2
/* All of k, where columns behind the row's tile are not made. */
#define COLUMNS_TO_TILE 3

/* What a group works on: a batch; some rows of an expert, by the list of tiles; the depth of an expert. */
#define BY_BATCH 0
#define BY_ROWS_OF_EXPERT 1
#define BY_DEPTH_OF_EXPERT 2

/* What sums begin with or are added to: nothing; another table is added; what lies there is added; what lies there is the
 * sum of the blocks before. */
#define ADD_NOTHING 0
#define ADD_TABLE 1
#define ADD_OWN 2
#define CONTINUE 3

/* c = a b. Strides are those of a row, of a column (of c: 1), and of a batch's outer and inner number; b is the same for
 * `share` inner numbers. `list` has the tiles of experts (expert, first row, end) or the offsets of their rows. */
KERNEL(product)(INT(m), INT(n), INT(k),
                READ(float, a), INT(a_row), INT(a_column), LONG a_outer, LONG a_inner,
                READ(float, b), INT(b_row), INT(b_column), LONG b_outer, LONG b_inner, INT(share),
                WRITE(float, c), INT(c_row), LONG c_outer, LONG c_inner,
                READ(float, more_table), INT(inner), INT(range), INT(by), INT(adding), INT(block),
                READ(int, list)) {
    OPEN_READ(float, a);
    OPEN_READ(float, b);
    OPEN_WRITE(float, c);
    OPEN_READ(float, more_table);
    OPEN_READ(int, list);
    SHARED(float, left, DEEP * TALL_APART);
    SHARED(float, right, DEEP * WIDE);
    const int item_row = ITEM / COLUMN_ITEMS, item_column = ITEM % COLUMN_ITEMS;
    int row0 = GROUP(1) * TALL;
    const int column0 = GROUP(0) * WIDE, z = GROUP(2);
    if (by == BY_ROWS_OF_EXPERT) {
        const int expert = list[3 * GROUP(1)];
        if (expert < 0) return;
        row0 = list[3 * GROUP(1) + 1];
        m = list[3 * GROUP(1) + 2];
        b += expert * b_outer;
    } else if (by == BY_DEPTH_OF_EXPERT) {
        const LONG from = list[z];
        k = list[z + 1] - list[z];
        a += from * a_column;
        b += from * b_row;
        c += z * c_outer;
    } else {
        const int own_outer = z / inner, own_inner = z % inner;
        a += own_outer * a_outer + own_inner * a_inner;
        b += own_outer * b_outer + own_inner / share * b_inner;
        c += own_outer * c_outer + own_inner * c_inner;
    }
    const int own_column = column0 + item_column * 4;
    const int own = row0 + item_row * PER_ROW, tile = own / TILE * TILE;
    const int group_tile = row0 / TILE * TILE, last_tile = (row0 + TALL - 1) / TILE * TILE;
    if (range == COLUMNS_TO_TILE && column0 >= last_tile + TILE) return;
    const int own_from = range == K_FROM_TILE ? tile : 0;
    const int own_end = range == K_TO_TILE && tile + TILE < k ? tile + TILE : k;
    const int from = range == K_FROM_TILE ? group_tile : 0;
    const int end = range == K_TO_TILE && last_tile + TILE < k ? last_tile + TILE : k;

    VEC sum[PER_ROW][PER_COLUMN], all[PER_ROW][PER_COLUMN];
    int first = 1, left_over = block;
    UNROLL for (int p = 0; p < PER_ROW; p++) {
        UNROLL for (int q = 0; q < PER_COLUMN; q++) {
            sum[p][q] = SPLAT(0.0f);
            all[p][q] = SPLAT(0.0f);
        }
    }
    if (adding == CONTINUE) {
        first = 0;
        for (int p = 0; p < PER_ROW; p++) {
            for (int q = 0; q < PER_COLUMN; q++) {
                const int row = own + p, column = own_column + COLUMN(q);
                float numbers[VECTOR];
                UNROLL for (int v = 0; v < VECTOR; v++) {
                    const int is_inside = row < m && column + v < n;
                    numbers[v] = is_inside ? c[(LONG)row * c_row + column + v] : 0.0f;
                }
                all[p][q] = LOAD_VEC(numbers);
            }
        }
    }
    for (int at = from; at < end; at += DEEP) {
        const int deep = end - at < DEEP ? end - at : DEEP;
        for (int x = ITEM; x < TALL * DEEP; x += PRODUCT_ITEMS) {
            const int r = a_column == 1 ? x / DEEP : x % TALL, t = a_column == 1 ? x % DEEP : x / TALL;
            left[t * TALL_APART + r] =
                row0 + r < m && t < deep ? a[(LONG)(row0 + r) * a_row + (LONG)(at + t) * a_column] : 0.0f;
        }
        for (int x = ITEM; x < WIDE * DEEP; x += PRODUCT_ITEMS) {
            const int r = b_column == 1 ? x % WIDE : x / DEEP, t = b_column == 1 ? x / WIDE : x % DEEP;
            right[t * WIDE + r] = column0 + r < n && t < deep
                                      ? b[(LONG)(at + t) * b_row + (LONG)(column0 + r) * b_column]
                                      : 0.0f;
        }
        SYNC();
        /* Tiles and blocks are whole numbers of these steps, so that an item takes part in all of them or in none but
         * for those behind its end. */
        const int low = own_from > at ? own_from - at : 0, high = own_end - at < deep ? own_end - at : deep;
        for (int t = low; t < high; t++) {
            IN_SHARED(float) own_left = left + t * TALL_APART + item_row * PER_ROW;
            IN_SHARED(float) own_right = right + t * WIDE + item_column * 4;
            float x[PER_ROW];
            VEC y[PER_COLUMN];
            UNROLL for (int p = 0; p < PER_ROW; p++) x[p] = own_left[p];
            UNROLL for (int q = 0; q < PER_COLUMN; q++) {
                y[q] = LOAD_VEC(own_right + COLUMN(q));
            }
            UNROLL for (int p = 0; p < PER_ROW; p++) {
                UNROLL for (int q = 0; q < PER_COLUMN; q++) sum[p][q] = FMA(SPLAT(x[p]), y[q], sum[p][q]);
            }
        }
        left_over -= high > low ? high - low : 0;
        if (high > low && (left_over <= 0 || at + deep >= own_end)) {
            UNROLL for (int p = 0; p < PER_ROW; p++) {
                UNROLL for (int q = 0; q < PER_COLUMN; q++) {
                    all[p][q] = first ? sum[p][q] : all[p][q] + sum[p][q];
                    sum[p][q] = SPLAT(0.0f);
                }
            }
            first = 0;
            left_over = block;
        }
        SYNC();
    }
    for (int p = 0; p < PER_ROW; p++) {
        const int row = own + p;
        for (int q = 0; q < PER_COLUMN; q++) {
            const int column = own_column + COLUMN(q);
            float numbers[VECTOR];
            STORE_VEC(all[p][q], numbers);
            UNROLL for (int v = 0; v < VECTOR; v++) {
                if (row < m && column + v < n) {
                    const LONG place = (LONG)row * c_row + column + v;
                    float number = numbers[v];
                    if (adding == ADD_TABLE) number = number + more_table[place];
                    if (adding == ADD_OWN) number = number + c[place];
                    c[place] = number;
                }
            }
        }
    }
}
