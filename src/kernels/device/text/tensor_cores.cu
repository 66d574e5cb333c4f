/* One instruction of a tensor core in each group of 32 items: d = c + a b, of 16 rows and 8 columns.
 *
 * A tile of a has 16 rows, one of b 8 columns, each of 8 words that hold its numbers along k: two of sixteen bits, the
 * first in the low half, or one of tf32. Tiles of c and d have 16 rows of 8 float32. With words along k the three
 * instructions have one layout (PTX ISA, "Matrix fragments for mma.m16n8k16" and "mma.m16n8k8"). */
#define MULTIPLY(name, instruction)                                                                                        \
    KERNEL(name)(READ(unsigned int, a), READ(unsigned int, b), READ(unsigned int, c), WRITE(unsigned int, d)) {            \
        OPEN_READ(unsigned int, a);                                                                                        \
        OPEN_READ(unsigned int, b);                                                                                        \
        OPEN_READ(unsigned int, c);                                                                                        \
        OPEN_WRITE(unsigned int, d);                                                                                       \
        const int row = ITEM / 4, word = ITEM % 4;                                                                         \
        a += GROUP(0) * 128 + row * 8 + word;                                                                              \
        b += GROUP(0) * 64 + row * 8 + word;                                                                               \
        c += GROUP(0) * 128 + row * 8 + 2 * word;                                                                          \
        d += GROUP(0) * 128 + row * 8 + 2 * word;                                                                          \
        float x, y, z, w;                                                                                                  \
        asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                    \
                     : "=f"(x), "=f"(y), "=f"(z), "=f"(w)                                                                  \
                     : "r"(a[0]), "r"(a[64]), "r"(a[4]), "r"(a[68]), "r"(b[0]), "r"(b[4]), "f"(FLOAT_OF(c[0])),            \
                       "f"(FLOAT_OF(c[1])), "f"(FLOAT_OF(c[64])), "f"(FLOAT_OF(c[65])));                                   \
        d[0] = BITS_OF(x);                                                                                                 \
        d[1] = BITS_OF(y);                                                                                                 \
        d[64] = BITS_OF(z);                                                                                                \
        d[65] = BITS_OF(w);                                                                                                \
    }

MULTIPLY(mma_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MULTIPLY(mma_fp16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MULTIPLY(mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
